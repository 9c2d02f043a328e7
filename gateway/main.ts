import { runComponent } from '#process';
import { gatewayConfig } from './config.ts';
import { startGateway } from './start.ts';

await runComponent(gatewayConfig, startGateway);
