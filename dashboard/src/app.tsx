// The frame around the pages: navigation, state of the connection, theme, language, shortcuts.
import { useEffect, useState } from "preact/hooks";
import { BASE, logout, session, signedOut } from "./api";
import { t } from "./i18n";
import { Help, SHORTCUTS, useShortcuts } from "./keys";
import { link } from "./live";
import { ErrorBox } from "./parts/load";
import { Cluster } from "./pages/cluster";
import { Clusters } from "./pages/clusters";
import { Editor } from "./pages/editor";
import { Events } from "./pages/events";
import { Login, Logo } from "./pages/login";
import { Logs } from "./pages/logs";
import { Overview } from "./pages/overview";
import { Policies } from "./pages/policies";
import { Policy } from "./pages/policy";
import { Search } from "./pages/search";
import { Terminal } from "./pages/terminal";
import { WhatIf } from "./pages/whatif";
import { Workload } from "./pages/workload";
import { Workloads } from "./pages/workloads";
import { follow, place } from "./router";
import { language, theme, toggleLanguage, toggleTheme } from "./settings";

function Page() {
  const { path } = place.value;
  const parts = path.split("/").slice(1).map(decodeURIComponent);
  switch (parts[0]) {
    case "":
    case "login":
      return <Overview />;
    case "clusters":
      return parts[1] ? <Cluster key={parts[1]} name={parts[1]} /> : <Clusters />;
    case "workloads":
      return <Workloads />;
    case "workload":
      return <Workload key={place.value.values.toString()} />;
    case "policies":
      return <Policies />;
    case "policy":
      return <Policy key={place.value.values.toString()} />;
    case "what-if":
      return <WhatIf />;
    case "search":
      return <Search />;
    case "events":
    case "drift":
      return <Events />;
    case "editor":
      return <Editor key={place.value.values.toString()} />;
    case "pods": {
      const at = { cluster: parts[1] ?? "", namespace: parts[2] ?? "", pod: parts[3] ?? "" };
      return parts[4] === "terminal" ? <Terminal {...at} /> : <Logs {...at} />;
    }
    default:
      return <h1>{t("There is no such page.")}</h1>;
  }
}

export function App({ failed }: { failed: Error | null }) {
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  useShortcuts(() => setHelp(true));
  useEffect(() => setMenu(false), [place.value.path]);
  useEffect(() => {
    const word = SHORTCUTS.find((one) => one.path !== "/" && place.value.path.startsWith(one.path.replace(/s$/, "")))?.word;
    document.title = word ? `${t(word)} · Karmada` : "Karmada";
  }, [place.value.path, language.value]);
  if (signedOut.value || (!session.value && place.value.path === "/login")) return <Login />;
  if (!session.value) {
    return (
      <main class="login" id="main" tabIndex={-1}>
        <h1>Karmada</h1>
        {failed ? <ErrorBox error={failed} again={() => location.reload()} /> : <p>{t("Loading…")}</p>}
      </main>
    );
  }
  return (
    <div class="app" onClick={follow}>
      <a class="skip" href="#main">
        {t("Skip to the content")}
      </a>
      <header class="top">
        <button type="button" class="icon menu-button" aria-expanded={menu} aria-controls="nav" aria-label={t("Menu")} onClick={() => setMenu(!menu)}>
          ☰
        </button>
        <a class="brand" href={`${BASE}/`}>
          <Logo /> Karmada
        </a>
        <Connection />
        <span class="spacer" />
        {session.value.readOnly && <span class="chip" title={session.value.reason}>{t("read-only")}</span>}
        <button type="button" class="icon" onClick={toggleLanguage} title={language.value === "en" ? "中文" : "English"} lang={language.value === "en" ? "zh-CN" : "en"}>
          {language.value === "en" ? "中" : "EN"}
        </button>
        <button type="button" class="icon" onClick={toggleTheme} aria-label={theme.value === "dark" ? t("Light colours") : t("Dark colours")}>
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
        <button type="button" class="icon" onClick={() => setHelp(true)} aria-label={t("Keyboard shortcuts")}>
          ?
        </button>
        <span class="user" title={session.value.groups.join(", ")}>
          {session.value.user}
        </span>
        <button type="button" onClick={() => void logout()}>
          {t("Sign out")}
        </button>
      </header>
      <nav id="nav" class={menu ? "open" : ""} aria-label={t("Pages")}>
        {SHORTCUTS.map((one) => (
          <a key={one.path} href={BASE + one.path} aria-current={current(one.path) ? "page" : undefined}>
            <span>{t(one.word)}</span>
            <kbd aria-hidden="true">g {one.key}</kbd>
          </a>
        ))}
        <p class="version">{session.value.version}</p>
      </nav>
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

function current(path: string): boolean {
  const here = place.value.path;
  if (path === "/") return here === "/" || here === "/login";
  if (path === "/events") return here === "/events" || here === "/drift";
  if (path === "/policies") return here.startsWith("/polic");
  return here.startsWith(path.replace(/s$/, ""));
}

function Connection() {
  if (link.value === "idle") return null;
  const words = { live: "Live", connecting: "Connecting…", lost: "Reconnecting…", refused: "Not live" } as const;
  return (
    <span class={`wire l-${link.value}`} role="status">
      <span class="dot" aria-hidden="true">
        {link.value === "live" ? "●" : link.value === "lost" ? "▲" : link.value === "refused" ? "■" : "○"}
      </span>
      <span class="wire-word">{t(words[link.value])}</span>
    </span>
  );
}
