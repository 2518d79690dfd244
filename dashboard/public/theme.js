// Before the first paint, so that nothing flashes; see theme.ts.
try {
  const theme = localStorage.getItem("millrace.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is forbidden here: the system's theme it is.
}
