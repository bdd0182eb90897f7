// How to join a cluster: the commands for its kind of connection, with everything in them, ready to be copied.
import { useState } from "preact/hooks";
import { post, session } from "../api";
import { clock } from "../format";
import { t } from "../i18n";
import { ErrorBox } from "../parts/load";
import { Command } from "../parts/reference";
import { shellWord } from "../shell";
import type { Joining } from "../types";

const NAME = /^[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?$/;
type Mode = "Push" | "Pull";

export function Join() {
  const [mode, setMode] = useState<Mode>("Push");
  const [name, setName] = useState("");
  const [config, setConfig] = useState("$HOME/.kube/config");
  const [context, setContext] = useState("");
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
      <input id="join-name" value={name} aria-invalid={name !== "" && !fine} aria-describedby="join-rule" onInput={(event) => setName(event.currentTarget.value)} />
      <p id="join-rule" class={fine || !name ? "dim" : "form-error"}>
        {t("Lower-case letters, digits and dashes, at most 48.")}
      </p>
      <label for="join-config">{t("Kubeconfig of the cluster, where you run the command")}</label>
      <input id="join-config" value={config} onInput={(event) => setConfig(event.currentTarget.value)} />
      <label for="join-context">{t("Its context, if not the current one")}</label>
      <input id="join-context" value={context} onInput={(event) => setContext(event.currentTarget.value)} />
      {fine && <Commands key={`${mode} ${name}`} name={name} mode={mode} words={memberWords(mode, config, context)} />}
    </form>
  );
}

/** The flags that lead to the cluster which joins. */
function memberWords(mode: Mode, config: string, context: string): string {
  const [file, where] = mode === "Push" ? ["--cluster-kubeconfig", "--cluster-context"] : ["--kubeconfig", "--context"];
  const flags = [config.trim() && `${file} ${shellWord(config.trim())}`, context.trim() && `${where} ${shellWord(context.trim())}`];
  return flags.filter(Boolean).map((flag) => ` \\\n  ${flag}`).join("");
}

function Commands({ name, mode, words }: { name: string; mode: Mode; words: string }) {
  const [made, setMade] = useState<Joining | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const readOnly = session.value?.readOnly ?? false;
  const make = async () => {
    setBusy(true);
    try {
      setMade(await post<Joining>("join", { name, mode }));
      setError(null);
    } catch (failed) {
      setError(failed as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {!made && !readOnly && (
        <p>
          <button type="button" class="primary" disabled={busy} onClick={() => void make()}>
            {mode === "Pull" ? t("Create a token and show the command") : t("Show the command")}
          </button>
        </p>
      )}
      {error && <ErrorBox error={error} />}
      {made && (
        <ol class="wizard">
          {made.setup && (
            <li>
              <p>{t("Your access to the control plane, as a file:")}</p>
              <Command text={made.setup} />
            </li>
          )}
          <li>
            <p>{mode === "Push" ? t("Run this where the cluster can be reached:") : t("Run this against the cluster:")}</p>
            <Command text={split(made.command) + words} />
            {made.ends && <p class="dim">{t("It holds a credential of yours for this cluster, good until {time}.", { time: clock(made.ends) })}</p>}
          </li>
          <li>
            <p>{t("The cluster appears in this list by itself once it is ready.")}</p>
          </li>
        </ol>
      )}
      {(readOnly || error) && (
        <ol class="wizard">
          {mode === "Pull" && (
            <li>
              <p>{t("Who may create tokens runs this, which prints the command for the cluster:")}</p>
              <Command text={`karmadactl token create \\\n  --cluster-names ${name} \\\n  --print-register-command`} />
            </li>
          )}
          {mode === "Push" && (
            <li>
              <p>{t("With a kubeconfig of your own for the control plane:")}</p>
              <Command text={`karmadactl join ${name}${words}`} />
            </li>
          )}
        </ol>
      )}
    </>
  );
}

/** One flag to a line: long tokens stay in sight. */
function split(command: string): string {
  return command.replaceAll(" --", " \\\n  --");
}
