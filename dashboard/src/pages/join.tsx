// How to join a cluster: the commands for its kind of connection, ready to be copied.
import { useState } from "preact/hooks";
import { t } from "../i18n";
import { Command } from "../parts/reference";

const NAME = /^[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?$/;

export function Join() {
  const [mode, setMode] = useState<"Push" | "Pull">("Push");
  const [name, setName] = useState("member1");
  const fine = NAME.test(name);
  return (
    <form class="join" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>{t("How is it reached?")}</legend>
        <label class="choice">
          <input type="radio" name="mode" checked={mode === "Push"} onChange={() => setMode("Push")} />
          <span>
            <strong>Push</strong>
            <span class="dim">{t("The control plane can reach the cluster's API server.")}</span>
          </span>
        </label>
        <label class="choice">
          <input type="radio" name="mode" checked={mode === "Pull"} onChange={() => setMode("Pull")} />
          <span>
            <strong>Pull</strong>
            <span class="dim">{t("The cluster is behind a firewall; an agent in it calls the control plane.")}</span>
          </span>
        </label>
      </fieldset>
      <label for="join-name">{t("Name of the cluster")}</label>
      <input id="join-name" value={name} aria-invalid={!fine} aria-describedby="join-rule" onInput={(event) => setName(event.currentTarget.value)} />
      <p id="join-rule" class={fine ? "dim" : "form-error"}>
        {t("Lower-case letters, digits and dashes, at most 48.")}
      </p>
      {fine && (
        <ol class="wizard">
          {mode === "Push" ? (
            <li>
              <p>{t("Run this where both kubeconfig files are:")}</p>
              <Command text={`karmadactl join ${name} \\\n  --kubeconfig karmada.kubeconfig \\\n  --cluster-kubeconfig ${name}.kubeconfig`} />
            </li>
          ) : (
            <>
              <li>
                <p>{t("Get a token, which also prints the command for the member:")}</p>
                <Command text={"karmadactl token create --print-register-command \\\n  --kubeconfig karmada.kubeconfig"} />
              </li>
              <li>
                <p>{t("Run the printed command in the member, with its name:")}</p>
                <Command text={`karmadactl register <address> --token <token> \\\n  --discovery-token-ca-cert-hash <hash> \\\n  --cluster-name ${name}`} />
              </li>
            </>
          )}
          <li>
            <p>{t("The cluster appears in this list by itself once it is ready.")}</p>
          </li>
        </ol>
      )}
    </form>
  );
}
