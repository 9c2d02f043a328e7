import { expect, test } from 'vitest';

import { pinTo, withAddress } from './bind-account.ts';

const lookUp = {
  get: 'https://api.example.com/sites',
  items: '.[]',
  value: '.id',
};
const address = { lookUp, server: 'https://api.example.com/ex/{site}', variable: 'site' };
const value = { value: 'a1', label: 'Acme' };
const base = 'https://api.example.com/ex/a1';

test('a token that is bound to one site goes to the servers that actions have of their own', () => {
  const actionServers = ['https://files.example.com/v1'];
  expect(pinTo(value, { ...address, actionServers }).baseUrls).toEqual([base, ...actionServers]);

  const pin = pinTo(value, address);
  expect(withAddress(pin, { ...address, actionServers }).baseUrls).toEqual([
    base,
    ...actionServers,
  ]);
});

test('a token that is bound to one site goes to no server by which all sites are open', () => {
  const actionServers = ['https://api.example.com', 'https://api.example.com/ex/b2', 'not a URL'];
  expect(pinTo(value, { ...address, actionServers: actionServers.slice(0, 2) }).baseUrls).toEqual([
    base,
  ]);
  const other = { ...address, server: 'https://other.example.com/{site}', actionServers };
  expect(withAddress(pinTo(value, address), other).baseUrls).not.toContain(actionServers[0]);
});

test('servers of a template with another look-up are not added', () => {
  const pin = pinTo(value, address);
  const other = { ...lookUp, get: 'https://api.example.com/teams' };
  const actionServers = ['https://files.example.com'];
  expect(withAddress(pin, { ...address, lookUp: other, actionServers })).toBe(pin);
});
