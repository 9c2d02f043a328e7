import { expect, test } from 'vitest';

import { refusalOfHeaderName, refusalOfRawHeaderName } from './request-headers.ts';

test.each([
  'Dropbox-API-Path-Root',
  'Dropbox-API-Select-User',
  'Dropbox-API-Select-Admin',
  'X-Vault-Namespace',
  'X_Vault_Namespace',
  'X-Consul-Namespace',
])('nobody may set the header %s, which names another account or namespace', (name) => {
  expect(refusalOfHeaderName(name)).toContain('another account or namespace');
  expect(refusalOfRawHeaderName(name)).toContain('another account or namespace');
});

test.each([
  'X-Versions-Location',
  'X-History-Location',
  'X-Container-Sync-To',
  'Pic-Operations',
  'x-amz-meta-snowball-auto-extract',
  'x-amz-meta-minio-snowball-prefix',
  'x-minio-snowball-auto-extract',
  'X-Minio-Extract',
])('nobody may set the header %s, which names a second resource', (name) => {
  expect(refusalOfHeaderName(name)).toContain('a second resource');
});

test.each([
  'X-Accel-Mapping',
  'X-Sendfile-Type',
  'x-matched-path',
  'x-invoke-path',
  'x-middleware-rewrite',
])('nobody may set the header %s, which proxies set for the server behind them', (name) => {
  expect(refusalOfHeaderName(name)).toContain('method, host or path');
});

test.each([
  'SCRIPT_NAME',
  'Script-Name',
  'X-Script-Name',
  'PATH_INFO',
  'x-path-info',
  'Path-Translated',
  'REQUEST_URI',
  'REQUEST_METHOD',
  'QUERY_STRING',
  'Server.Name',
])('nobody may set the header %s, which servers read as a variable of CGI', (name) => {
  expect(refusalOfHeaderName(name)).toContain('method, host or path');
  expect(refusalOfRawHeaderName(name)).toContain('method, host or path');
});

test.each([
  'Stripe-Account',
  'Impersonate-User',
  'Impersonate-Group',
  'Impersonate-Uid',
  'Impersonate-Extra-Scopes',
  'Sudo',
  'X-Grafana-Org-Id',
])('an action may have the header %s as a parameter, a call by method and path may not', (name) => {
  expect(refusalOfHeaderName(name)).toBeUndefined();
  expect(refusalOfRawHeaderName(name)).toContain('acts for another account or person');
});

test.each([
  'X-Goog-User-Project',
  'Stripe-Version',
  'Dropbox-API-Arg',
  'X-Vault-Token',
  'x-amz-meta-title',
  'X-Amz-Target',
  'X-Script',
  'X-Request-Id',
])('everybody may set the header %s', (name) => {
  expect(refusalOfRawHeaderName(name)).toBeUndefined();
});
