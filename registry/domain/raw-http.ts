import type { CompiledTemplate } from '#contracts/template';

/**
 * The pseudo-service `http` (spec: Service template): it always exists unless a
 * built-in file claims its key. Callers bring the full URL and their secrets.
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
