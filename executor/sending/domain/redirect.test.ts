import { describe, expect, test } from 'vitest';

import { actionOf, templateOf } from '../../request/domain/action.testing.ts';
import { findRedirectTarget } from './redirect.ts';

describe('a redirect', () => {
  const template = templateOf([
    actionOf({ key: 'get', path: '/users/{id}', params: [{ name: 'id', in: 'path' }] }),
    actionOf({ key: 'me', path: '/users/me' }),
  ]);
  const redirectTo = (location: string | undefined, status = 302) =>
    findRedirectTarget({
      status,
      location,
      url: 'https://api.example.com/v1/users/7',
      template,
      actionKey: 'get',
      baseUrl: 'https://api.example.com/v1',
    });

  test('is followed within the operation of the action', () => {
    expect(redirectTo('/v1/users/8')).toBe('https://api.example.com/v1/users/8');
    expect(redirectTo('8?x=1#y', 308)).toBe('https://api.example.com/v1/users/8?x=1');
  });

  test.for([
    'https://evil.example/v1/users/8',
    'http://api.example.com/v1/users/8',
    'https://api.example.com:8443/v1/users/8',
    'https://u@api.example.com/v1/users/8',
    '/v1/users/me',
    '/v1/admin',
    '/users/8',
    '/v1/users/8/keys',
    '/v1/users/..%2F..%2Fadmin',
    '/v1/users/..;x',
    '/v1/users/%252e%252e%252fadmin',
    '/v1/users/%2e%2e%2Fadmin',
    'gopher://api.example.com/',
    'https://',
  ])('is not followed to %s', (location) => {
    expect(redirectTo(location)).toBeUndefined();
  });

  test('is followed within the separate server of an operation', () => {
    const server = { url: 'https://files.example.com/v1' };
    const withServer = templateOf([
      actionOf({ key: 'get', path: '/users/{id}', params: [{ name: 'id', in: 'path' }] }),
      actionOf({ key: 'file', path: '/users/{id}', params: [{ name: 'id', in: 'path' }], server }),
    ]);
    const followed = findRedirectTarget({
      status: 302,
      location: '/v1/users/8',
      url: `${server.url}/users/7`,
      template: withServer,
      actionKey: 'file',
      baseUrl: server.url,
    });
    expect(followed).toBe(`${server.url}/users/8`);
  });

  test('is followed only to a base URL to which the token is bound', () => {
    const to = (...pinnedTo: string[][]) =>
      findRedirectTarget({
        status: 302,
        location: '/v1/users/8',
        url: 'https://api.example.com/v1/users/7',
        template,
        actionKey: 'get',
        baseUrl: 'https://api.example.com/v1',
        pinnedTo,
      });

    const allowedUrls = ['https://api.example.com/v1/users'];
    const otherUrls = ['https://api.example.com/v1/users/7', 'https://api.example.com/v2'];
    expect(to(allowedUrls)).toBe('https://api.example.com/v1/users/8');
    expect(to(allowedUrls, otherUrls)).toBeUndefined();
  });

  test('is followed only for a redirect status with a Location header', () => {
    expect(redirectTo('/v1/users/8', 304)).toBeUndefined();
    expect(redirectTo('/v1/users/8', 200)).toBeUndefined();
    expect(redirectTo(undefined)).toBeUndefined();
  });

  test('is not followed to a URL whose argument in the permission key would be different', () => {
    const templateScopedBy = (scopeParam: string) => {
      const { get } = template.actions;
      return { ...template, actions: { ...template.actions, get: { ...get!, scopeParam } } };
    };
    const url = 'https://api.example.com/v1/users/7';
    const to = (location: string) =>
      findRedirectTarget({
        status: 302,
        location,
        url,
        actionKey: 'get',
        baseUrl: 'https://api.example.com/v1',
        template: templateScopedBy('id'),
      });

    expect(to('/v1/users/8')).toBeUndefined();
    expect(to('/v1/users/7?page=2')).toBe(`${url}?page=2`);
  });
});
