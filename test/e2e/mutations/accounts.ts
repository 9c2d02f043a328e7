import { successfulBodyOf } from '../../support/world.ts';
import {
  refusedOutcome,
  deleteResource,
  sentOutcome,
  servicePath,
  staleOutcome,
} from './mutation.ts';
import type { Mutation } from './mutation.ts';
import { secretValueOf } from './stage.ts';
import type { Scene } from './stage.ts';

const connectionPath = ({ account }: Scene) => `/v1/connections/${account.id}`;
const refreshToken = ({ account, name }: Scene) =>
  account.refresh({ token: secretValueOf(name, 2), scopes: ['notes'] });
const refreshWithScopes =
  (...scopes: string[]) =>
  ({ account, name }: Scene) =>
    account.refresh({ token: secretValueOf(name, 2), scopes });
const settingByAction = { isByAccount: true } as const;
const settingByVerb = { isByAccount: true, call: 'verb' } as const;
const settingOfRawCall = { isByAccount: true, call: 'raw' } as const;

/** Changes of the connection that the call uses: of its account, its token and its scopes. */
export const mutationsOfAccounts: Record<string, Mutation> = {
  'no change, for a call with an account': {
    ...settingByAction,
    change: async () => undefined,
    outcome: sentOutcome(),
  },
  'a refresh of its account’s token': {
    ...settingByAction,
    change: refreshToken,
    outcome: sentOutcome(2),
  },
  'a refresh of its account’s token, for a call by method and path': {
    ...settingByVerb,
    change: refreshToken,
    outcome: sentOutcome(2),
  },
  'a refresh of its account’s token, for a raw call': {
    ...settingOfRawCall,
    change: refreshToken,
    outcome: sentOutcome(2),
  },
  'the loss of a scope that the action needs': {
    ...settingByAction,
    change: refreshWithScopes('other'),
    outcome: refusedOutcome('missing_scopes'),
  },
  'the grant of another scope to its account': {
    ...settingByAction,
    change: refreshWithScopes('notes', 'other'),
    outcome: sentOutcome(2),
  },
  'the revocation of its account': {
    ...settingByAction,
    change: (scene) => deleteResource(scene, connectionPath(scene)),
    outcome: refusedOutcome('credential_missing'),
  },
  'the revocation of its account, for a raw call': {
    ...settingOfRawCall,
    change: (scene) => deleteResource(scene, connectionPath(scene)),
    outcome: refusedOutcome('credential_missing'),
  },
  'the replacement of its account by another account': {
    ...settingByAction,
    async change(scene) {
      await deleteResource(scene, connectionPath(scene));
      await scene.connectAccount();
    },
    outcome: staleOutcome('credential'),
  },
  'the replacement of its account by another account, for a raw call': {
    ...settingOfRawCall,
    async change(scene) {
      await deleteResource(scene, connectionPath(scene));
      await scene.connectAccount();
    },
    outcome: staleOutcome('credential'),
  },
  'the provider’s refusal of its account': {
    ...settingByAction,
    change: ({ account }) => account.lose(),
    outcome: refusedOutcome('reauth_required'),
  },
  'the provider’s refusal of its account, for a raw call': {
    ...settingOfRawCall,
    change: ({ account }) => account.lose(),
    outcome: refusedOutcome('reauth_required'),
  },
  'a change of its service to another account': {
    ...settingByAction,
    async change(scene) {
      const { admin, account, connectAccount } = scene;
      await connectAccount(`${account.name}_2`);
      const credentials = { connection: `${account.name}_2` };
      successfulBodyOf(await admin.patch(servicePath(scene), { credentials }));
    },
    outcome: staleOutcome('credential'),
  },
};
