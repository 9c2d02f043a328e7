import { describe, expect, test } from 'vitest';

import type { Connection } from '#contracts/http/connections';
import type { ConnectionWay, NeededConnection, NeededSecret } from './connect-view.ts';
import {
  findHeldWayIndex,
  heldBy,
  heldCredentialsOf,
  lackingOf,
  lackingVariables,
} from './held.ts';

const secret = (scheme: string, more: Partial<NeededSecret> = {}): NeededSecret => ({
  kind: 'secret',
  scheme,
  default_secret_name: `${scheme}_secret`,
  sent_as: 'Authorization: Bearer',
  encoding: 'raw',
  ...more,
});
const account: NeededConnection = {
  kind: 'connection',
  scheme: 'oauth',
  provider: 'mock',
  scopes: [],
};
const bySecrets = (...secrets: NeededSecret[]): ConnectionWay => ({ secrets, account: null });
const byAccount: ConnectionWay = { secrets: [], account };
const connection = { name: 'notes', tier: 'org', provider: 'mock' } as Connection;
const held = (
  secrets: Record<string, string>,
  {
    reference = null,
    ways = [],
    changedSchemes = [],
  }: { reference?: string | null; ways?: ConnectionWay[]; changedSchemes?: string[] } = {},
) =>
  heldBy(
    { credentials: { secrets, connection: reference }, variables: { site: 'acme' } },
    { ways, changedSchemes, connections: [connection] },
  );

describe('the credentials and variables that a service already has, when it is upgraded', () => {
  test('are not asked for again', () => {
    const way = bySecrets(secret('token'), secret('key'));
    expect(lackingOf(way, held({ token: 'notes_token' })).secrets).toEqual([secret('key')]);
    expect(lackingOf(byAccount, held({}, { reference: 'org/notes' })).account).toBeNull();
    expect(lackingOf(byAccount, held({}, { reference: 'notes' })).account).toEqual(account);
  });

  test('decide the way to connect: the one that uses the most of them', () => {
    const both = held({ token: 'a', key: 'b' });
    const ways = [byAccount, bySecrets(secret('key')), bySecrets(secret('token'), secret('key'))];
    expect(findHeldWayIndex(ways, both)).toBe(2);
    expect(findHeldWayIndex([byAccount], both)).toBeUndefined();
    expect(heldCredentialsOf(bySecrets(secret('key')), both)).toEqual({
      secrets: { key: 'b' },
      connection: null,
    });
  });

  test('do not include a secret whose scheme now takes several values', () => {
    const parts = [{ name: 'id', label: 'Id', secret: false, optional: false }];
    const ways = [bySecrets(secret('token', { parts }))];
    expect(held({ token: 'a' }, { ways, changedSchemes: ['token'] }).secrets).toEqual({});
    expect(held({ token: 'a' }, { ways }).secrets).toEqual({ token: 'a' });
  });

  test('include the values of variables, unless a base URL makes variables unnecessary', () => {
    const variable = (name: string) => ({ name, description: '', default: null });
    const address = { variables: [variable('site'), variable('area')] };
    expect(lackingVariables(address, held({}))).toEqual([variable('area')]);
    expect(lackingVariables(address, { ...held({}), variables: undefined })).toEqual([]);
  });
});
