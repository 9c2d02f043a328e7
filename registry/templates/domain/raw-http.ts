import type { CompiledTemplate } from '#contracts/template';

/**
 * The template of the service `http`, with which callers give a full URL and name the secrets
 * (docs/reference/templates.md#raw-http). A built-in template with the key `http` replaces it.
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
