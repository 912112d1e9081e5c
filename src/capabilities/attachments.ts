import type { CapabilityBackend } from '../capability.ts'

/** The files that came with the turn, and only those. */
export function attachmentsBackend(): CapabilityBackend<'attachments'> {
  return { open: (_declared, scope) => Object.freeze([...scope.attachments]) }
}
