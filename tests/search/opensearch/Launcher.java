// Runs one OpenSearch node in a folder, prints its HTTP port, and ends with its standard input.
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

public final class Launcher extends Node {
    private Launcher(Settings settings) {
        super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"),
            List.of(Netty4Plugin.class), false);
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Settings settings = Settings.builder()
            .put("path.home", home)
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", "0")
            .put("transport.port", "0")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        try (Launcher node = new Launcher(settings)) {
            node.start();
            System.out.println("port " + node.injector().getInstance(org.opensearch.http.HttpServerTransport.class)
                .boundAddress().publishAddress().getPort());
            while (System.in.read() >= 0) { }
        }
    }
}
