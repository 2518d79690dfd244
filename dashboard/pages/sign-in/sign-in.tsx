import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { changes, get, keepToken, signInReason } from "../../api.js";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { Labelled } from "../../parts/labelled.js";
import { Problem } from "../../parts/load.js";
import { forgetAnswers } from "../../parts/resource.js";
import { session } from "../../session.js";
import { signedIn } from "../../tabs.js";
import type { Session } from "../../wire.js";

/** The server wants a token. It stays in the tabs of this page, until they are closed. */
export function SignIn({ reason }: { reason: string }): JSX.Element {
  const [token, setToken] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current!.focus(), []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    keepToken(token.trim());
    try {
      session.value = await get<Session>("session");
      forgetAnswers();
      signInReason.value = null;
      signedIn(token.trim());
      changes.value += 1;
    } catch (problem) {
      keepToken(null);
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1 class="brand">
          <Icon name="wave" size={24} />
          Millrace
        </h1>
        <p class="muted">
          This server wants a token. It is shared with the other tabs of this page, and forgotten when the last of them
          is closed.
        </p>
        <Labelled label="Token" hint="Whoever runs millrace serve has made it; a reader's token is enough to look.">
          {(ids) => (
            <input
              {...ids}
              ref={input}
              type="password"
              name="token"
              value={token}
              required
              autocomplete="current-password"
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          )}
        </Labelled>
        {error !== undefined ? <Problem error={error} /> : reason && <p class="note">{reason}</p>}
        <Button type="submit" kind="main" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
