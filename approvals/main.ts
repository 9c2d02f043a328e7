import { runComponent } from '#process';
import { approvalsConfig } from './config.ts';
import { startApprovals } from './start.ts';

await runComponent(approvalsConfig, startApprovals);
