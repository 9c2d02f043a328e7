import { runComponent } from '#process';
import { notifierConfig } from './config.ts';
import { startNotifier } from './start.ts';

await runComponent(notifierConfig, startNotifier);
