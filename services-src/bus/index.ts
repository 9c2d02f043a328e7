export { natsAccounts, permissionsOf } from './nats-accounts.ts';
export { createClient } from './client.ts';
export type { Client } from './client.ts';
export { connectBus } from './connect.ts';
export type { Bus } from './connect.ts';
export { deadlineIn } from './deadline.ts';
export type { Deadline } from './deadline.ts';
export { serve } from './server.ts';
export type { Handlers } from './server.ts';
