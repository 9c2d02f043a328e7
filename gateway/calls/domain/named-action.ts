import { AppError } from '#errors';

interface NamedAction {
  readonly service?: string;
  readonly action?: string;
}

/**
 * Returns the service and action that a search is limited to. An action is always named together
 * with its service.
 */
export function namedAction({
  service,
  action,
}: {
  readonly service: string | undefined;
  readonly action: string | undefined;
}): NamedAction {
  if (action !== undefined && service === undefined) {
    throw new AppError('invalid_params', 'Name the service of the action in `service`.', {
      details: { issues: [{ path: 'service', message: 'is required with action' }] },
    });
  }
  return {
    ...(service === undefined ? {} : { service }),
    ...(action === undefined ? {} : { action }),
  };
}
