import { AppError, nearestName } from '#errors';
import type { Sql } from '#database';
import { namesInCalls, parseServiceName } from '../domain/service.ts';
import type { Service } from '../domain/service.ts';
import { findServiceByName, listServiceNames } from '../repository/connected-service.ts';

interface NamedService {
  readonly orgId: string;
  readonly userId: string;
  /** `github`, or `org/github`. */
  readonly name: string;
}

const suggestedMax = 50;

/** The service a name stands for, or `unknown_service` with the names that are there. */
export async function getServiceByName(
  sql: Sql,
  { orgId, userId, name }: NamedService,
): Promise<Service> {
  const reach = { orgId, userId };
  const service = await findServiceByName(sql, { ...reach, ...parseServiceName(name) });
  if (service !== undefined) return service;

  const others = await listServiceNames(sql, { ...reach, limit: suggestedMax });
  const available = namesInCalls(others);
  const suggestion = nearestName(name, available);
  throw new AppError(
    'unknown_service',
    suggestion === undefined
      ? `There is no service "${name}"; \`available\` lists those there are.`
      : `There is no service "${name}". Did you mean "${suggestion}"?`,
    { details: { available: [...new Set(available)], did_you_mean: suggestion } },
  );
}
