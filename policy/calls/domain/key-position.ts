import type { ScopeOfKey } from '#templates';

/**
 * One position of a permission key: the label that messages use for it, and the kind of its values
 * (`as`). The kind decides how a suggested rule makes the position broader.
 */
export type KeyPosition = Pick<ScopeOfKey, 'label' | 'as'>;
