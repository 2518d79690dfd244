import type { JSX } from "preact";

const paths = {
  overview: "M3 12h4l2-6 4 12 2.5-8 1.5 2h4",
  queues: "M4 6h16M4 12h16M4 18h10",
  jobs: "M4 5h16v5H4zM4 14h16v5H4z",
  failures: "M12 4 21 20H3zM12 10v4M12 17v.5",
  groups:
    "M8 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2 20c0-3.5 2.7-5.5 6-5.5s6 2 6 5.5M16 5a3 3 0 0 1 0 6M18 15c2.5.6 4 2.4 4 5",
  schedules: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2",
  workers:
    "M12 15.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM12 2.5v3M12 18.5v3M2.5 12h3M18.5 12h3M5.3 5.3l2.1 2.1M16.6 16.6l2.1 2.1M18.7 5.3l-2.1 2.1M7.4 16.6l-2.1 2.1",
  limits: "M4 17a8.5 8.5 0 1 1 16 0M12 14l4-5",
  cells: "M12 3 20 7.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  health: "M12 20S4 15 4 9.5A4.3 4.3 0 0 1 12 7a4.3 4.3 0 0 1 8 2.5C20 15 12 20 12 20z",
  alerts: "M6 16v-5a6 6 0 0 1 12 0v5l2 2H4zM10 21h4",
  audit: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 13l4 4L19 7",
  sun: "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  half: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 3v18M12 7h6.5M12 12h8.5M12 17h6.5",
  menu: "M4 7h16M4 12h16M4 17h16",
  wave: "M2 9c3.3 0 3.3 3 6.7 3S12 9 15.3 9s3.4 3 6.7 3M2 16c3.3 0 3.3 3 6.7 3s3.3-3 6.6-3 3.4 3 6.7 3",
} as const;

export type IconName = keyof typeof paths;

/** A small drawing beside words, never instead of them. */
export function Icon({ name, size = 17 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
