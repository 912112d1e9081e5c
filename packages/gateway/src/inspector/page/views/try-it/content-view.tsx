import type { ContentBlock } from '@toolcrib/core'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { download } from '../../download.ts'
import { whole } from '../../format.ts'
import { JsonTree } from '../../ui/json-tree.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { LongText } from '../../ui/visible-text.tsx'
import { parsed } from './result-text.ts'

/** Each block of a result as what it is. Nothing is loaded from elsewhere. */
export function ContentView({ blocks }: { readonly blocks: readonly ContentBlock[] }) {
  return (
    <ul class="stack">
      {blocks.map((block, index) => {
        const key = `${index} ${block.type}`
        return (
          <li key={key}>
            <Block block={block} />
          </li>
        )
      })}
    </ul>
  )
}

function Block({ block }: { readonly block: ContentBlock }) {
  switch (block.type) {
    case 'text':
      return <Markdown text={block.text} />
    case 'image':
    case 'audio':
      return <Media kind={block.type} data={block.data} type={block.mimeType} />
    case 'resource_link':
      return (
        <div>
          {block.name} <code class="wrap">{block.uri}</code>
        </div>
      )
    case 'resource':
      return <Resource resource={block.resource} />
    default:
      return <JsonTree value={block} />
  }
}

function Resource({
  resource: { uri, text, blob, mimeType = '' },
}: {
  readonly resource: Extract<ContentBlock, { type: 'resource' }>['resource']
}) {
  return (
    <div class="stack">
      <div class="small muted wrap">
        <code>{uri}</code> {mimeType}
      </div>
      {text !== undefined && <ResourceText text={text} type={mimeType} />}
      {blob !== undefined && <Media kind={mimeType.split('/')[0] ?? ''} data={blob} type={mimeType} />}
    </div>
  )
}

function ResourceText({ text, type }: { readonly text: string; readonly type: string }) {
  const value = /\bjson\b/.test(type) ? parsed(text) : undefined
  if (value !== undefined) return <JsonTree value={value} />
  if (type === '' || type === 'text/markdown') return <Markdown text={text} />
  return <LongText text={text} />
}

/** Types that a browser shows without running anything. */
const SAFE = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+)$/

function Media({
  kind,
  data,
  type,
}: {
  readonly kind: string
  readonly data: string
  readonly type: string
}) {
  const [url, setUrl] = useState<string>()
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    if (!SAFE.test(type)) return undefined
    const bytes = bytesOf(data)
    setBroken(bytes.length === 0)
    if (bytes.length === 0) return undefined
    const made = URL.createObjectURL(new Blob([bytes], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [data, type])
  if (!SAFE.test(type))
    return (
      <Unshown data={data}>
        {whole(data.length)} characters of {type || 'unknown data'}, not shown.
      </Unshown>
    )
  if (isBroken)
    return (
      <Unshown data={data}>
        {kind === 'image' ? 'This image cannot be shown' : 'This sound cannot be played'}: its data is broken.
      </Unshown>
    )
  if (url === undefined) return null
  const fail = () => setBroken(true)
  if (kind === 'image') return <img class="media" src={url} alt="Result of the call" onError={fail} />
  // biome-ignore lint/a11y/useMediaCaption: a sound that a tool made has no captions.
  return <audio controls src={url} aria-label="Sound of the call" onError={fail} />
}

/** What cannot be shown can be kept as a file. */
function Unshown({ data, children }: { readonly data: string; readonly children: ComponentChildren }) {
  return (
    <div class="row">
      <span class="muted">{children}</span>
      <button type="button" class="button" onClick={() => download('result', bytesOf(data))}>
        Save as a file
      </button>
    </div>
  )
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}
