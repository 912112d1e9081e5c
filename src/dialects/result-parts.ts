import type { ContentBlock, ToolResult } from '../tool.ts'

/** A part of a result that a model can be shown. */
export type ResultPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'media'; readonly mimeType: string; readonly data: string }

/**
 * Splits a result into parts: its text, then its media. Media that the provider cannot show are mentioned in the
 * text.
 */
export function resultParts(
  result: ToolResult,
  canShow: (mimeType: string) => boolean,
): readonly ResultPart[] {
  if (!result.ok) return [{ kind: 'text', text: wellFormed(`Error (${result.code}): ${result.error}`) }]
  const media = (result.content ?? []).flatMap(mediaOf)
  const shown = media.filter(({ mimeType }) => canShow(mimeType))
  const hidden = media.filter(({ mimeType }) => !canShow(mimeType))
  const told = hidden.map(
    ({ mimeType, data }) => `[${mimeType}, ${data.length} base64 characters, not shown here]`,
  )
  const text = [result.value, ...told].filter((line) => line !== '').join('\n')
  return [
    ...(text === '' && shown.length > 0 ? [] : [{ kind: 'text', text: wellFormed(text) } as const]),
    ...shown,
  ]
}

/** The whole result as text. */
export function resultText(result: ToolResult): string {
  return resultParts(result, () => false)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('\n')
}

export function isImage(mimeType: string): boolean {
  return ['image/png', 'image/jpeg', 'image/gif', 'image/webp'].includes(mimeType)
}

function mediaOf(block: ContentBlock): { kind: 'media'; mimeType: string; data: string }[] {
  if (block.type === 'image' || block.type === 'audio')
    return [{ kind: 'media', mimeType: block.mimeType, data: block.data }]
  if (block.type !== 'resource' || block.resource.blob === undefined) return []
  const { blob, mimeType = 'application/octet-stream' } = block.resource
  return [{ kind: 'media', mimeType, data: blob }]
}

/** Removes lone surrogates, which make a request invalid. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD')
}
