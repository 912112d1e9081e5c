import type { ContentBlock, ToolResult } from '../tool.ts'
import { readText } from './read-value.ts'

/** A part of a result that a model can be shown. */
export type ResultPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'media'; readonly mimeType: string; readonly data: string }

/**
 * Splits a result into parts: its text, then its media. Media that the provider cannot show or would
 * reject are mentioned in the text: one rejected picture would fail every later request.
 */
export function resultParts(
  result: ToolResult,
  canShow: (mimeType: string) => boolean,
): readonly ResultPart[] {
  if (!result.ok) return [{ kind: 'text', text: wellFormed(`Error (${result.code}): ${result.error}`) }]
  const media = (result.content ?? []).flatMap(mediaOf).map(withTrueType)
  const faults = media.map((item) => faultOf(item, canShow))
  const shown = media.filter((_, index) => faults[index] === undefined)
  const told = media.flatMap(({ mimeType, data }, index) =>
    faults[index] === undefined ? [] : [`[${mimeType}, ${data.length} base64 characters, ${faults[index]}]`],
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

type Media = Extract<ResultPart, { kind: 'media' }>

function mediaOf(block: ContentBlock): Media[] {
  if (block.type === 'image' || block.type === 'audio') return [toMedia(block.mimeType, block.data)]
  if (block.type !== 'resource' || block.resource.blob === undefined) return []
  const { blob, mimeType = 'application/octet-stream' } = block.resource
  return [toMedia(mimeType, blob)]
}

/**
 * Providers reject line breaks and missing padding in base64, and the prefix of a data URL, which some servers send.
 */
function toMedia(mimeType: unknown, data: unknown): Media {
  const plain = readText(data)
    .replace(/^data:[^,]{0,100},/, '')
    .replace(/\s+/g, '')
    .replace(/={1,2}$/, '')
  return {
    kind: 'media',
    mimeType: readText(mimeType),
    data: plain.padEnd(Math.ceil(plain.length / 4) * 4, '='),
  }
}

/** The first base64 characters of image formats that providers show. */
const BEGINNINGS: readonly (readonly [string, string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

/** Corrects a wrong image type, which providers reject. */
function withTrueType(media: Media): Media {
  if (!isImage(media.mimeType)) return media
  const known = BEGINNINGS.find(([beginning]) => media.data.startsWith(beginning))
  return known === undefined ? media : { ...media, mimeType: known[1] }
}

/** 5 MiB of base64, the smallest limit of a provider for one image. */
const MAX_IMAGE_CHARS = 5_242_880
/** 4.5 MiB of data, the smallest limit of a provider for one document. */
const MAX_FILE_CHARS = 6_291_456

/** Why a medium is not shown; undefined if it is. */
function faultOf({ mimeType, data }: Media, canShow: (mimeType: string) => boolean): string | undefined {
  if (!canShow(mimeType)) return 'not shown here'
  if (data.length > (isImage(mimeType) ? MAX_IMAGE_CHARS : MAX_FILE_CHARS)) return 'too large to be shown'
  const isBase64 = data !== '' && /^[A-Za-z0-9+/]*={0,2}$/.test(data)
  return isBase64 ? undefined : 'not shown, since it is not base64'
}

/** Removes lone surrogates, which make a request invalid. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD')
}
