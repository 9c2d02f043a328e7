export { appendEvent, createEvent } from './outbox.ts';
export { startRelay } from './relay.ts';
export { openPublisher } from './publish.ts';
export type { Publisher } from './publish.ts';
export { consumeEvents, rememberEvent } from './consume.ts';
export type { Reader } from './consume.ts';
export { onEvents } from './listen.ts';
export { provisionStream } from './provision.ts';
