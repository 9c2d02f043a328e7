import { z } from 'zod';

import { id } from '../vocabulary.ts';
import { defineRoutes, fileBody } from './define.ts';

export const fileRoutes = defineRoutes({
  getFile: {
    method: 'GET',
    path: '/v1/files/{id}',
    summary:
      'Download a body that was kept as a file; for an hour, by the caller and its ancestors',
    tag: 'Actions',
    access: 'actions:read',
    params: z.strictObject({ id }),
    responses: { 200: fileBody },
    serves: 'executor.getFile',
    audit: 'none',
  },
});
