import { runComponent } from '#process';
import { auditConfig } from './config.ts';
import { startAudit } from './start.ts';

await runComponent(auditConfig, startAudit);
