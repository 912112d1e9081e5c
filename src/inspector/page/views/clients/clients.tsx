export function Clients(_props: { readonly rest: string }) {
  return null
}
