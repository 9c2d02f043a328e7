import { created } from '../support/world.ts';
import { refused, remove, sent, servicePath, stale } from './mutation.ts';
import type { Mutation } from './mutation.ts';
import { valueOf } from './stage.ts';
import type { Scene } from './stage.ts';

const connectionPath = ({ account }: Scene) => `/v1/connections/${account.id}`;
const renew = ({ account, name }: Scene) =>
  account.refresh({ token: valueOf(name, 2), scopes: ['notes'] });
const regrant =
  (...scopes: string[]) =>
  ({ account, name }: Scene) =>
    account.refresh({ token: valueOf(name, 2), scopes });
const byAction = { isByAccount: true } as const;
const byVerb = { isByAccount: true, call: 'verb' } as const;
const raw = { isByAccount: true, call: 'raw' } as const;

/** Whose account it is made with, and what the account may. */
export const mutationsOfAccounts: Record<string, Mutation> = {
  'nothing, of a call with an account': {
    ...byAction,
    change: async () => undefined,
    outcome: sent(),
  },
  'the token of its account refreshed': { ...byAction, change: renew, outcome: sent(2) },
  'the token of its account refreshed, of a call by method and path': {
    ...byVerb,
    change: renew,
    outcome: sent(2),
  },
  'the token of its account refreshed, of a raw call': { ...raw, change: renew, outcome: sent(2) },
  'a scope that the action needs gone from its account': {
    ...byAction,
    change: regrant('other'),
    outcome: refused('missing_scopes'),
  },
  'another scope for its account': {
    ...byAction,
    change: regrant('notes', 'other'),
    outcome: sent(2),
  },
  'its account revoked': {
    ...byAction,
    change: (scene) => remove(scene, connectionPath(scene)),
    outcome: refused('credential_missing'),
  },
  'its account revoked, of a raw call': {
    ...raw,
    change: (scene) => remove(scene, connectionPath(scene)),
    outcome: refused('credential_missing'),
  },
  'another account connected in the place of its own': {
    ...byAction,
    async change(scene) {
      await remove(scene, connectionPath(scene));
      await scene.connectAccount();
    },
    outcome: stale('credential'),
  },
  'another account connected in the place of its own, of a raw call': {
    ...raw,
    async change(scene) {
      await remove(scene, connectionPath(scene));
      await scene.connectAccount();
    },
    outcome: stale('credential'),
  },
  'its account no longer accepted by the provider': {
    ...byAction,
    change: ({ account }) => account.lose(),
    outcome: refused('reauth_required'),
  },
  'its account no longer accepted by the provider, of a raw call': {
    ...raw,
    change: ({ account }) => account.lose(),
    outcome: refused('reauth_required'),
  },
  'another account in the service': {
    ...byAction,
    async change(scene) {
      const { admin, account, connectAccount } = scene;
      await connectAccount(`${account.name}_2`);
      const credentials = { connection: `${account.name}_2` };
      created(await admin.patch(servicePath(scene), { credentials }));
    },
    outcome: stale('credential'),
  },
};
