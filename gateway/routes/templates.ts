import type { templateRoutes } from '#contracts/http/templates';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

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
      const published = { principal, key, tier, version: body.version };
      // Before, so that no version is ever published that policy does not know.
      await policy.recordTemplate(published, deadline).catch(async (error: unknown) => {
        // The registry says what else may have been meant.
        if (AppError.from(error).code === 'not_found') {
          await registry.getTemplate(published, deadline);
        }
        throw error;
      });
      return answer(200, registry.publishTemplate(published, deadline));
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
      // What stays after a failure takes room, and decides nothing any more.
      await policy.forgetTemplate(deleted, deadline).catch((error: unknown) => {
        logger.warn({ err: error, template: key }, 'records of a deleted template stay');
      });
      return { status: 204, body: undefined };
    },
  };
}
