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

describe('where the actions of a service go', () => {
  test('is the base URL of the service, or the server that they have of their own', () => {
    expect(keysAt('https://acme.example.com/v1')).toEqual([
      ['https://acme.example.com/v1', ['list']],
      ['https://content.example.com/2', ['upload', 'download']],
      ['https://search.example.com', ['find']],
    ]);
  });

  test('is nowhere at a base URL that was given, unless the server has a path there', () => {
    const given = 'https://self.example.net/api';

    expect(keysAt(given)).toEqual([
      [given, ['list']],
      [`${given}/search`, ['find']],
    ]);
    expect(baseUrlOf('upload', given)).toBeUndefined();
    expect(baseUrlOf('find', given)).toBe(`${given}/search`);
    expect(baseUrlOf('list', given)).toBe(given);
  });

  test('is one place for a template without such servers', () => {
    const plain = { ...template, actions: { list: template.actions['list']! } };
    expect(placesOf(plain, 'https://a.example.com/v1')).toEqual([
      { baseUrl: 'https://a.example.com/v1', template: plain },
    ]);
  });

  test('adds up to the servers of a template, whose hosts are for every way to connect', () => {
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

  test('puts an action beside those that go to the same server', () => {
    const part = partWith(template, template.actions['upload']!);
    expect(Object.keys(part.actions)).toEqual(['upload', 'download']);
  });
});
