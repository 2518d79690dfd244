import { describePairs } from "./pairs.js";

describePairs("commit");
