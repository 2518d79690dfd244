import type { JSX } from "preact";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";

/** The application has mounted the dashboard, and no longer knows who looks. Loading the page goes through it again. */
export function SignedOut(): JSX.Element {
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          location.reload();
        }}
      >
        <h1 class="brand">
          <Icon name="wave" size={24} />
          Millrace
        </h1>
        <p class="muted">You are signed out. Sign in to the application again, and load this page.</p>
        <Button type="submit" kind="main">
          Load again
        </Button>
      </form>
    </main>
  );
}
