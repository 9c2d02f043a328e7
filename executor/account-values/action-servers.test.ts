import { expect, test } from 'vitest';

import { pinTo, withAddress } from './bind-account.ts';

const lookUp = {
  get: 'https://api.example.com/sites',
  items: '.[]',
  value: '.id',
};
const address = { lookUp, server: 'https://api.example.com/ex/{site}', variable: 'site' };
const value = { value: 'a1', label: 'Acme' };
const baseUrl = 'https://api.example.com/ex/a1';

test('a token that is bound to one site may also go to the separate servers of single actions', () => {
  const actionServers = ['https://files.example.com/v1'];
  expect(pinTo(value, { ...address, actionServers }).baseUrls).toEqual([baseUrl, ...actionServers]);

  const pin = pinTo(value, address);
  expect(withAddress(pin, { ...address, actionServers }).baseUrls).toEqual([
    baseUrl,
    ...actionServers,
  ]);
});

test('a token that is bound to one site may go to no server that gives access to all sites', () => {
  const actionServers = ['https://api.example.com', 'https://api.example.com/ex/b2', 'not a URL'];
  expect(pinTo(value, { ...address, actionServers: actionServers.slice(0, 2) }).baseUrls).toEqual([
    baseUrl,
  ]);
  const other = { ...address, server: 'https://other.example.com/{site}', actionServers };
  expect(withAddress(pinTo(value, address), other).baseUrls).not.toContain(actionServers[0]);
});

test('the servers of a template that looks up its sites elsewhere are not added', () => {
  const pin = pinTo(value, address);
  const other = { ...lookUp, get: 'https://api.example.com/teams' };
  const actionServers = ['https://files.example.com'];
  expect(withAddress(pin, { ...address, lookUp: other, actionServers })).toBe(pin);
});
