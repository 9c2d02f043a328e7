import { runComponent } from '#process';
import { executorConfig } from './config.ts';
import { startExecutor } from './start.ts';

await runComponent(executorConfig, startExecutor);
