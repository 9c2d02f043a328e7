import { runComponent } from '#process';
import { registryConfig } from './config.ts';
import { startRegistry } from './start.ts';

await runComponent(registryConfig, startRegistry);
