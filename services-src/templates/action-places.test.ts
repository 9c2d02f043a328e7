import { describe, expect, test } from 'vitest';

import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { actionBaseUrlOf, actionServerUrlsOf, partWith, placesOf } from './action-places.ts';
import { fixedHostsFor } from './servers.ts';

const content = { url: 'https://content.example.com/2' };
const search = { url: 'https://search.example.com', basePath: '/search' };
const template = {
  server: {
    url: 'https://{site}.example.com/v1',
    variables: [{ name: 'site', description: '', default: null, enum: null }],
    baseUrlAllowed: true,
  },
  hosts: ['content.example.com', 'search.example.com'],
  actions: {
    list: { key: 'list' },
    upload: { key: 'upload', server: content },
    download: { key: 'download', server: content },
    find: { key: 'find', server: search },
  } as unknown as Record<string, CompiledAction>,
} as unknown as CompiledTemplate;
const baseUrlOf = (key: string, baseUrl: string) =>
  actionBaseUrlOf(template, template.actions[key] ?? {}, baseUrl);
const keysAt = (baseUrl: string) =>
  placesOf(template, baseUrl).map((place) => [place.baseUrl, Object.keys(place.template.actions)]);

describe('the places to which the actions of a service go', () => {
  test('are the base URL of the service and the servers that single actions declare', () => {
    expect(keysAt('https://acme.example.com/v1')).toEqual([
      ['https://acme.example.com/v1', ['list']],
      ['https://content.example.com/2', ['upload', 'download']],
      ['https://search.example.com', ['find']],
    ]);
  });

  test('leave out a server of an action when a base URL was given and the server has no path below it', () => {
    const given = 'https://self.example.net/api';

    expect(keysAt(given)).toEqual([
      [given, ['list']],
      [`${given}/search`, ['find']],
    ]);
    expect(baseUrlOf('upload', given)).toBeUndefined();
    expect(baseUrlOf('find', given)).toBe(`${given}/search`);
    expect(baseUrlOf('list', given)).toBe(given);
  });

  test('are one place for a template whose actions declare no servers', () => {
    const plain = { ...template, actions: { list: template.actions['list']! } };
    expect(placesOf(plain, 'https://a.example.com/v1')).toEqual([
      { baseUrl: 'https://a.example.com/v1', template: plain },
    ]);
  });

  test('include hosts of action servers for every way to connect', () => {
    expect(actionServerUrlsOf(template)).toEqual([content.url, search.url]);
    const servers = [
      { ...template.server!, schemes: ['token'] },
      {
        url: 'https://content.example.com',
        variables: [],
        baseUrlAllowed: false,
        schemes: ['account'],
      },
    ];
    expect(fixedHostsFor({ ...template, servers }, ['token'])).toEqual(template.hosts);
  });

  test('combine the actions that go to the same server', () => {
    const part = partWith(template, template.actions['upload']!);
    expect(Object.keys(part.actions)).toEqual(['upload', 'download']);
  });
});
