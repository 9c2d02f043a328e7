import type { fileRoutes } from '#contracts/http/files';
import type { Deps } from '../deps.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function fileHandlers(deps: Deps): HandlersOf<typeof fileRoutes> {
  return {
    /**
     * Files from upstreams are sent as downloads, because displaying them within the gateway's
     * origin would be unsafe.
     */
    async getFile({ caller: { principal }, params: { id }, deadline }) {
      const file = await deps.executor.getFile({ principal, id }, deadline);
      return {
        status: 200,
        body: deps.files.read(file),
        headers: {
          'content-type': file.contentType,
          'content-length': String(file.size),
          'content-disposition': `attachment; filename="${file.name}"`,
          'content-security-policy': "sandbox; default-src 'none'",
          'cross-origin-resource-policy': 'same-origin',
        },
      };
    },
  };
}
