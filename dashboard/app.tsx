import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isSignedOut, signInReason } from "./api.js";
import { connection, isStale, overview } from "./live.js";
import { CellsBanner } from "./cells.js";
import { pages } from "./pages.js";
import { Alerts } from "./pages/alerts/alerts.js";
import { Audit } from "./pages/audit/audit.js";
import { Cells } from "./pages/cells/cells.js";
import { EnqueuePage } from "./pages/enqueue/enqueue.js";
import { Failures } from "./pages/failures/failures.js";
import { GroupsPage } from "./pages/groups/groups.js";
import { Health } from "./pages/health/health.js";
import { JobPage } from "./pages/jobs/job.js";
import { Jobs } from "./pages/jobs/jobs.js";
import { Limits } from "./pages/limits/limits.js";
import { NotFound } from "./pages/not-found.js";
import { OverviewPage } from "./pages/overview/overview.js";
import { QueuePage } from "./pages/queues/queue.js";
import { TypePage } from "./pages/queues/type.js";
import { Queues } from "./pages/queues/queues.js";
import { EditSchedule } from "./pages/schedules/edit.js";
import { SchedulePage } from "./pages/schedules/schedule.js";
import { Schedules } from "./pages/schedules/schedules.js";
import { SignIn } from "./pages/sign-in/sign-in.js";
import { SignedOut } from "./pages/sign-in/signed-out.js";
import { Workers } from "./pages/workers/workers.js";
import { ActDialog } from "./parts/act.js";
import { Button } from "./parts/button.js";
import { Icon } from "./parts/icon.js";
import { Toasts } from "./parts/toast.js";
import { route, to } from "./router.js";
import { SearchLine } from "./search/search-line.js";
import { session, signOut } from "./session.js";
import { HelpDialog, openHelp } from "./shortcuts.js";
import { signedOut } from "./tabs.js";
import { ThemeSwitch } from "./theme-switch.js";
import { ZoneSwitch } from "./zone-switch.js";

export function App(): JSX.Element {
  if (isSignedOut.value) return <SignedOut />;
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
    <div class={isStale.value ? "frame frame-stale" : "frame"}>
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
          <ZoneSwitch />
          <ThemeSwitch />
          <Button kind="quiet" small label="Keyboard shortcuts" onClick={openHelp}>
            ?
          </Button>
        </div>
      </header>
      <main ref={main} id="main" class="main" tabIndex={-1}>
        <CellsBanner />
        <Page key={path} />
      </main>
      <ActDialog />
      <HelpDialog />
      <Toasts />
    </div>
  );
}

function Page(): JSX.Element {
  const [first, name, third, fourth] = route.value.path;
  switch (first) {
    case undefined:
      return <OverviewPage />;
    case "queues":
      if (name === undefined) return <Queues />;
      return third === "types" && fourth !== undefined ? (
        <TypePage queue={name} type={fourth} />
      ) : (
        <QueuePage name={name} tab={third ?? "overview"} />
      );
    case "jobs":
      return name === undefined ? <Jobs /> : <JobPage id={name} />;
    case "enqueue":
      return <EnqueuePage key={route.value.query.get("from")} />;
    case "failures":
      return <Failures />;
    case "groups":
      return <GroupsPage />;
    case "schedules":
      if (name === undefined) return <Schedules />;
      return third === "edit" ? <EditSchedule name={name} /> : <SchedulePage name={name} />;
    case "new-schedule":
      return <EditSchedule />;
    case "workers":
      return <Workers />;
    case "limits":
      return <Limits />;
    case "alerts":
      return <Alerts />;
    case "cells":
      return <Cells />;
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
  const told: Readonly<Record<string, readonly [count: number, one: string, many: string]>> = {
    Health: [overview.value?.warnings ?? 0, "warning", "warnings"],
    Alerts: [overview.value?.alerts ?? 0, "alert fires", "alerts fire"],
  };
  return (
    <nav class={open ? "side side-open" : "side"} aria-label="Pages">
      <a class="brand" href={to([])}>
        <Icon name="wave" size={22} />
        Millrace
      </a>
      <ul>
        {pages.value.map(({ title, path, icon }) => (
          <li key={title}>
            <a href={to(path)} aria-current={path[0] === here ? "page" : undefined}>
              <Icon name={icon} />
              {title}
              {told[title] && <Told of={told[title]} />}
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
            {!session.value.isOpen && !session.value.isMounted && (
              <Button small onClick={() => (signedOut(), signOut())}>
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

/** How many things somebody should look at on a page. */
function Told({ of: [n, one, many] }: { of: readonly [count: number, one: string, many: string] }): JSX.Element | null {
  if (n === 0) return null;
  return (
    <span class="count">
      {n}
      <span class="sr"> {n === 1 ? one : many}</span>
    </span>
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
