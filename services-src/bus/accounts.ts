import type { Component } from '../contracts/vocabulary.ts';

/** Who logs in to NATS: a component, its second login that reads the stream, and the migration. */
export type BusUser = Component | ReaderUser | 'provision';
type ReaderUser = `${Component}_reader`;

/**
 * The account that owns every stream. Named as the only account was before there were several,
 * because streams lie on disk under the name of their account.
 */
export const storeAccount = 'gateway';

/** Where JetStream's API is for components; `$JS.API` is their own account's, which has no streams. */
export const storeApi = 'STORE.API';

/** A component's own account: the last token of the subject on which its requests arrive. */
export function accountOf(component: Component): string {
  return `c_${component}`;
}

/** The component's second NATS user; it has the first one's password. */
export function readerOf<C extends Component>(component: C): `${C}_reader` {
  return `${component}_reader`;
}
