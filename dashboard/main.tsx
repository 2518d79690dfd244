import { render } from "preact";
import { App } from "./app.js";
import { startLive } from "./live.js";
import { startSession } from "./session.js";
import { startShortcuts } from "./shortcuts.js";
import { startTabs } from "./tabs.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/parts.css";

startShortcuts();
startLive();
startSession();
startTabs();
render(<App />, document.getElementById("app")!);
