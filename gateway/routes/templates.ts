import type { templateRoutes } from '#contracts/http/templates';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function templateHandlers({
  registry,
  policy,
  logger,
}: Deps): HandlersOf<typeof templateRoutes> {
  return {
    listTemplates: ({ caller: { principal }, query, deadline }) => {
      const { limit, cursor, ...filter } = query;
      return answer(
        200,
        registry.listTemplates(
          { principal, page: pageRequestOf({ limit, cursor }), filter },
          deadline,
        ),
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
      const page = pageRequestOf(query);
      return answer(200, registry.listTemplateVersions({ principal, key, tier, page }, deadline));
    },
    updateTemplate: ({ caller: { principal }, params: { key }, query, body, deadline }) => {
      const { tier = 'user' } = query;
      return answer(200, registry.updateTemplate({ principal, key, tier, body }, deadline));
    },
    async publishTemplate({ caller: { principal }, params: { key }, query, body, deadline }) {
      const { tier = 'user' } = query;
      const publishRequest = { principal, key, tier, version: body.version };
      // Policy records the version before the registry publishes it, so that policy knows every
      // published version.
      await policy.recordTemplate(publishRequest, deadline).catch(async (error: unknown) => {
        // The registry's error suggests similar names.
        if (AppError.from(error).code === 'not_found') {
          await registry.getTemplate(publishRequest, deadline);
        }
        throw error;
      });
      return answer(200, registry.publishTemplate(publishRequest, deadline));
    },
    disableTemplate: ({ caller: { principal }, params: { key }, query, deadline }) => {
      const request = { principal, key, tier: query.tier ?? 'user', isDisabled: true } as const;
      return answer(200, registry.switchTemplate(request, deadline));
    },
    enableTemplate: ({ caller: { principal }, params: { key }, query, deadline }) => {
      const request = { principal, key, tier: query.tier ?? 'user', isDisabled: false } as const;
      return answer(200, registry.switchTemplate(request, deadline));
    },
    async deleteTemplate({ caller: { principal }, params: { key }, query, deadline }) {
      const deleted = { principal, key, tier: query.tier ?? 'user' };
      await registry.deleteTemplate(deleted, deadline);
      // If this fails, records remain in policy. They take space but affect no decision.
      await policy.forgetTemplate(deleted, deadline).catch((error: unknown) => {
        logger.warn({ err: error, template: key }, 'records of a deleted template stay');
      });
      return { status: 204, body: undefined };
    },
  };
}
