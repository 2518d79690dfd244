/** Set for a worker that `--watch` restarts: it listens to its parent, because a terminal sends Ctrl-C to both. */
export const watchedVariable = "MILLRACE_WATCHED";

/** Somebody wants us to stop: gracefully the first time, at once the second. */
export interface StopSignals {
  readonly requested: Promise<void>;
  readonly insisted: Promise<void>;
  readonly isRequested: boolean;
  readonly isInsisted: boolean;
  /** Leave signals to the system again. */
  forget(): void;
}

export function stopSignals(): StopSignals {
  const isWatched = process.env[watchedVariable] !== undefined && process.send !== undefined;
  let received = 0;
  let request = (): void => {};
  let insist = (): void => {};
  const requested = new Promise<void>((resolve) => (request = resolve));
  const insisted = new Promise<void>((resolve) => (insist = resolve));
  const onSignal = (): void => {
    received += 1;
    if (received === 1) request();
    else insist();
  };
  const ignore = (): void => {};
  const onInterrupt = isWatched ? ignore : onSignal;
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onInterrupt);
  if (isWatched) {
    process.on("message", onSignal);
    process.on("disconnect", onSignal);
  }
  return {
    requested,
    insisted,
    get isRequested() {
      return received > 0;
    },
    get isInsisted() {
      return received > 1;
    },
    forget() {
      process.off("SIGTERM", onSignal);
      process.off("SIGINT", onInterrupt);
      process.off("message", onSignal);
      process.off("disconnect", onSignal);
    },
  };
}
