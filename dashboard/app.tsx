import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signInReason } from "./api.js";
import { connection, overview } from "./live.js";
import { pages } from "./pages.js";
import { Audit } from "./pages/audit/audit.js";
import { Failures } from "./pages/failures/failures.js";
import { Health } from "./pages/health/health.js";
import { JobPage } from "./pages/jobs/job.js";
import { Jobs } from "./pages/jobs/jobs.js";
import { Limits } from "./pages/limits/limits.js";
import { NotFound } from "./pages/not-found.js";
import { OverviewPage } from "./pages/overview/overview.js";
import { QueuePage } from "./pages/queues/queue.js";
import { Queues } from "./pages/queues/queues.js";
import { SchedulePage } from "./pages/schedules/schedule.js";
import { Schedules } from "./pages/schedules/schedules.js";
import { SignIn } from "./pages/sign-in/sign-in.js";
import { Tenants } from "./pages/tenants/tenants.js";
import { Workers } from "./pages/workers/workers.js";
import { ActDialog } from "./parts/act.js";
import { Button } from "./parts/button.js";
import { Icon } from "./parts/icon.js";
import { Toasts } from "./parts/toast.js";
import { route, to } from "./router.js";
import { SearchLine } from "./search/search-line.js";
import { session, signOut } from "./session.js";
import { HelpDialog, openHelp } from "./shortcuts.js";
import { ThemeSwitch } from "./theme-switch.js";

export function App(): JSX.Element {
  if (signInReason.value !== null) return <SignIn reason={signInReason.value} />;
  return <Frame />;
}

function Frame(): JSX.Element {
  const [menu, setMenu] = useState(false);
  const main = useRef<HTMLElement>(null);
  const path = route.value.path.join("/");
  const isFirst = useRef(true);

  useEffect(() => {
    if (!menu) return;
    const close = (event: KeyboardEvent): void => {
      if (event.key === "Escape") setMenu(false);
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [menu]);

  // A new page begins at its top and at its heading, for eyes and for screen readers.
  useEffect(() => {
    setMenu(false);
    document.title = `${[...route.value.path].reverse().join(" · ") || "overview"} · Millrace`;
    if (isFirst.current) isFirst.current = false;
    else {
      scrollTo(0, 0);
      main.current?.querySelector("h1")?.focus({ preventScroll: true });
    }
  }, [path]);

  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <Side open={menu} />
      {menu && <div class="shade" aria-hidden="true" onClick={() => setMenu(false)} />}
      <header class="bar">
        <span class="menu-button">
          <Button kind="quiet" label="Menu" expanded={menu} onClick={() => setMenu(!menu)}>
            <Icon name="menu" />
          </Button>
        </span>
        <SearchLine />
        <div class="bar-end">
          <Light />
          <ThemeSwitch />
          <Button kind="quiet" small label="Keyboard shortcuts" onClick={openHelp}>
            ?
          </Button>
        </div>
      </header>
      <main ref={main} id="main" class="main" tabIndex={-1}>
        <Page key={path} />
      </main>
      <ActDialog />
      <HelpDialog />
      <Toasts />
    </div>
  );
}

function Page(): JSX.Element {
  const [first, name, third] = route.value.path;
  switch (first) {
    case undefined:
      return <OverviewPage />;
    case "queues":
      return name === undefined ? <Queues /> : <QueuePage name={name} tab={third ?? "overview"} />;
    case "jobs":
      return name === undefined ? <Jobs /> : <JobPage id={name} />;
    case "failures":
      return <Failures />;
    case "tenants":
      return <Tenants />;
    case "schedules":
      return name === undefined ? <Schedules /> : <SchedulePage name={name} />;
    case "workers":
      return <Workers />;
    case "limits":
      return <Limits />;
    case "health":
      return <Health />;
    case "audit":
      return <Audit />;
    default:
      return <NotFound />;
  }
}

function Side({ open }: { open: boolean }): JSX.Element {
  const here = route.value.path[0];
  const warnings = overview.value?.warnings ?? 0;
  return (
    <nav class={open ? "side side-open" : "side"} aria-label="Pages">
      <a class="brand" href={to([])}>
        <Icon name="wave" size={22} />
        Millrace
      </a>
      <ul>
        {pages.map(({ title, path, icon }) => (
          <li key={title}>
            <a href={to(path)} aria-current={path[0] === here ? "page" : undefined}>
              <Icon name={icon} />
              {title}
              {title === "Health" && warnings > 0 && (
                <span class="count">
                  {warnings}
                  <span class="sr"> {warnings === 1 ? "warning" : "warnings"}</span>
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
      <div class="side-foot">
        {session.value && (
          <>
            <span>
              {session.value.isOpen ? "Open on this machine" : `${session.value.name} (${session.value.role})`}
            </span>
            {!session.value.isOpen && (
              <Button small onClick={signOut}>
                Sign out
              </Button>
            )}
            <span>
              Millrace {session.value.version}
              <br />
              schema {session.value.schema}
            </span>
          </>
        )}
      </div>
    </nav>
  );
}

const words = {
  live: "Live",
  connecting: "Connecting",
  lost: "Reconnecting",
  blind: "No database",
  paused: "Paused",
} as const;

/** Whether what is seen is of now. */
function Light(): JSX.Element {
  const state = connection.value;
  return (
    <span class={`light light-${state}`} title={`The live stream: ${words[state].toLowerCase()}`}>
      <i aria-hidden="true" />
      <span>{words[state]}</span>
    </span>
  );
}
