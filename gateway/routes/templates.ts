import type { templateRoutes } from '#contracts/http/templates';
import type { Deps } from '../deps.ts';
import { answer, done, pageOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function templateHandlers({ registry, policy }: Deps): HandlersOf<typeof templateRoutes> {
  return {
    listTemplates: ({ caller: { principal }, query, deadline }) => {
      const { limit, cursor, ...filter } = query;
      return answer(
        200,
        registry.listTemplates({ principal, page: pageOf({ limit, cursor }), filter }, deadline),
      );
    },
    createTemplate: ({ caller: { principal }, body, deadline }) =>
      answer(201, registry.createTemplate({ principal, body }, deadline)),
    validateTemplate: ({ caller: { principal }, body: { openapi }, deadline }) =>
      answer(200, registry.validateTemplate({ principal, openapi }, deadline)),
    getTemplate: ({ caller: { principal }, params: { key }, query, deadline }) => {
      const { tier = null, version = null } = query;
      return answer(200, registry.getTemplate({ principal, key, tier, version }, deadline));
    },
    getTemplateDocument: ({ caller: { principal }, params: { key }, query, deadline }) => {
      const { tier = 'user', version = null } = query;
      return answer(200, registry.getTemplateDocument({ principal, key, tier, version }, deadline));
    },
    listTemplateVersions: ({ caller: { principal }, params: { key }, query, deadline }) => {
      const { tier = null } = query;
      const page = pageOf(query);
      return answer(200, registry.listTemplateVersions({ principal, key, tier, page }, deadline));
    },
    updateTemplate: ({ caller: { principal }, params: { key }, query, body, deadline }) => {
      const { tier = 'user' } = query;
      return answer(200, registry.updateTemplate({ principal, key, tier, body }, deadline));
    },
    async publishTemplate({ caller: { principal }, params: { key }, query, body, deadline }) {
      const { tier = 'user' } = query;
      const published = { principal, key, tier, version: body.version };
      const template = await registry.publishTemplate(published, deadline);
      // Whoever publishes again after a failure tells policy again.
      await policy.recordTemplate(published, deadline);
      return { status: 200, body: template };
    },
    disableTemplate: ({ caller: { principal }, params: { key }, query, deadline }) => {
      const request = { principal, key, tier: query.tier ?? 'user', isDisabled: true } as const;
      return answer(200, registry.switchTemplate(request, deadline));
    },
    enableTemplate: ({ caller: { principal }, params: { key }, query, deadline }) => {
      const request = { principal, key, tier: query.tier ?? 'user', isDisabled: false } as const;
      return answer(200, registry.switchTemplate(request, deadline));
    },
    deleteTemplate: ({ caller: { principal }, params: { key }, query, deadline }) =>
      done(registry.deleteTemplate({ principal, key, tier: query.tier ?? 'user' }, deadline)),
  };
}
