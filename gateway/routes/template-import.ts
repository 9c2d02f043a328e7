import type { templateImportRoutes } from '#contracts/http/template-import';
import type { Deps } from '../deps.ts';
import { answer } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function templateImportHandlers({
  registry,
}: Deps): HandlersOf<typeof templateImportRoutes> {
  return {
    importTemplate: ({ caller: { principal }, body, deadline }) =>
      answer(201, registry.importTemplate({ principal, body }, deadline)),
    startUpload: ({ caller: { principal }, body: { text }, deadline }) =>
      answer(201, registry.startUpload({ principal, text }, deadline)),
    getUpload: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, registry.getUpload({ principal, id }, deadline)),
    continueUpload: ({ caller: { principal }, params: { id }, body, deadline }) =>
      answer(200, registry.continueUpload({ principal, id, ...body }, deadline)),
  };
}
