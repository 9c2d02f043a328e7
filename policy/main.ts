import { runComponent } from '#process';
import { policyConfig } from './config.ts';
import { startPolicy } from './start.ts';

await runComponent(policyConfig, startPolicy);
