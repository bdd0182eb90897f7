// Signing in with a token; the page that was asked for is shown afterwards.
import { useState } from "preact/hooks";
import { login, Refused, session } from "../api";
import { t } from "../i18n";
import { Command } from "../parts/reference";
import { go, place } from "../router";

export function Login() {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const again = session.value !== null;
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await login(token.trim());
      setToken("");
      if (place.value.path === "/login") go("/", true);
    } catch (failed) {
      const refused = failed instanceof Refused && (failed.code === 401 || failed.code === 403);
      setError(refused ? `${t("The token was not accepted.")} ${failed.message}` : String((failed as Error).message));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="login" id="main" tabIndex={-1}>
      <form onSubmit={submit}>
        <h1>
          <Logo /> Karmada
        </h1>
        <p>{again ? t("Your session has ended. Sign in again to go on.") : t("Sign in to see the federation.")}</p>
        <label for="token">{t("Token")}</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
          aria-describedby="token-help"
        />
        {error && (
          <p class="form-error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="primary" disabled={busy}>
          {t("Sign in")}
        </button>
        <div id="token-help" class="dim">
          <p>{t("This command prints a token:")}</p>
        </div>
        <Command text="karmada dashboard-token" />
      </form>
    </main>
  );
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <circle cx="16" cy="16" r="11" class="orbit" />
      <circle cx="16" cy="16" r="4.5" />
      <circle cx="16" cy="5" r="3.5" />
      <circle cx="6.5" cy="21.5" r="3.5" />
      <circle cx="25.5" cy="21.5" r="3.5" />
    </svg>
  );
}
