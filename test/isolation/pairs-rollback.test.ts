import { describePairs } from "./pairs.js";

describePairs("rollback");
