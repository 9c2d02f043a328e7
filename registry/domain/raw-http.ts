import type { CompiledTemplate } from '#contracts/template';

/**
 * The service `http`, which exists unless a built-in file claims its key. Callers bring the full URL
 * and name their secrets (docs/reference/templates.md#raw-http).
 */
export const rawHttpTemplate: CompiledTemplate = {
  key: 'http',
  tier: 'global',
  ownerId: null,
  version: 1,
  title: 'Raw HTTP',
  description: 'Any HTTP request to a full URL, with the secrets the call names.',
  category: 'Platform',
  runtime: 'http',
  server: null,
  hosts: [],
  auth: [],
  security: [],
  actions: {},
};
