import type { Component } from '../contracts/vocabulary.ts';

/**
 * The NATS users: one per component, a second one per component that reads the event stream, and
 * the migration.
 */
export type BusUser = Component | ReaderUser | 'provision';
type ReaderUser = `${Component}_reader`;

/**
 * The account that owns every stream. Streams are stored on disk under the name of their account,
 * so it keeps the name that it had when it was the only account.
 */
export const storeAccount = 'gateway';

/**
 * The prefix under which components reach the JetStream API of the account that owns the streams.
 * `$JS.API` would be the API of the component's own account, which has no streams.
 */
export const storeApiPrefix = 'STORE.API';

/**
 * When a request crosses from one NATS account to another, the NATS server replaces the request's
 * reply subject by a random subject with this prefix. The server accepts one message to it.
 */
export const importedReplyPrefix = '_R_.';

/**
 * The name of a component's own account. NATS appends it to the subject under which another
 * component receives a request of this component.
 */
export function accountOf(component: Component): string {
  return `c_${component}`;
}

/**
 * The name of the NATS user with which a component reads the event stream. Both users of a
 * component have the same password.
 */
export function readerOf<C extends Component>(component: C): `${C}_reader` {
  return `${component}_reader`;
}
