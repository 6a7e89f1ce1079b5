<?php
/**
 * The visitor's address behind proxies that the administrator names. A header is believed from
 * them alone: anybody else can write what he likes into it.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

defined( 'ABSPATH' ) || exit;

final class Proxies {

	/** Names of headers, as the settings offer them, and where PHP has them. */
	const HEADERS = array(
		'X-Forwarded-For'  => 'HTTP_X_FORWARDED_FOR',
		'X-Real-IP'        => 'HTTP_X_REAL_IP',
		'CF-Connecting-IP' => 'HTTP_CF_CONNECTING_IP',
		'True-Client-IP'   => 'HTTP_TRUE_CLIENT_IP',
	);
	const LISTED_MAX = 200;

	private const HOPS_MAX = 20;

	/** The last address of the header that is no proxy of ours; the connection's own if there is none. */
	public static function address( string $remote ): string {
		$proxies = self::listed( Settings::text( 'proxies' ) );
		if ( array() === $proxies || ! self::is_among( $remote, $proxies ) ) {
			return $remote;
		}
		$name = self::HEADERS[ Settings::text( 'proxy_header' ) ] ?? self::HEADERS['X-Forwarded-For'];
		$text = isset( $_SERVER[ $name ] ) && is_string( $_SERVER[ $name ] ) ? sanitize_text_field( wp_unslash( $_SERVER[ $name ] ) ) : '';
		$hops = array_slice( array_reverse( explode( ',', $text ) ), 0, self::HOPS_MAX );
		foreach ( $hops as $hop ) {
			$address = self::without_port( trim( $hop ) );
			if ( null === $address ) {
				return $remote;
			}
			if ( ! self::is_among( $address, $proxies ) ) {
				return $address;
			}
		}
		return $remote;
	}

	/** @return string[] addresses and networks of a text, each valid */
	public static function listed( string $text ): array {
		$parts = preg_split( '/[\s,]+/', $text, -1, PREG_SPLIT_NO_EMPTY );
		return array_values( array_filter( is_array( $parts ) ? $parts : array(), array( self::class, 'is_network' ) ) );
	}

	public static function is_network( string $text ): bool {
		list( $address, $bits ) = array_pad( explode( '/', $text, 2 ), 2, null );
		$packed                 = self::packed( $address );
		if ( null === $packed ) {
			return false;
		}
		return null === $bits || ( 1 === preg_match( '/^\d{1,3}$/D', $bits ) && (int) $bits >= 1 && (int) $bits <= 8 * strlen( $packed ) );
	}

	/** @param string[] $networks */
	private static function is_among( string $address, array $networks ): bool {
		$packed = self::packed( $address );
		foreach ( null === $packed ? array() : $networks as $network ) {
			list( $base, $bits ) = array_pad( explode( '/', $network, 2 ), 2, null );
			$base                = (string) self::packed( $base );
			if ( strlen( $base ) !== strlen( $packed ) ) {
				continue;
			}
			$bits  = null === $bits ? 8 * strlen( $base ) : (int) $bits;
			$whole = intdiv( $bits, 8 );
			$mask  = 0xff << ( 8 - $bits % 8 ) & 0xff;
			if ( substr( $base, 0, $whole ) === substr( $packed, 0, $whole )
				&& ( 0 === $mask || ( ord( $base[ $whole ] ?? "\0" ) & $mask ) === ( ord( $packed[ $whole ] ?? "\0" ) & $mask ) ) ) {
				return true;
			}
		}
		return false;
	}

	/** Bytes of an address; those of an IPv4 one for `::ffff:192.0.2.1`. */
	private static function packed( string $text ): ?string {
		if ( false === filter_var( $text, FILTER_VALIDATE_IP ) ) {
			return null;
		}
		$bytes = (string) inet_pton( $text );
		return 16 === strlen( $bytes ) && str_starts_with( $bytes, str_repeat( "\0", 10 ) . "\xff\xff" ) ? substr( $bytes, 12 ) : $bytes;
	}

	/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
	private static function without_port( string $text ): ?string {
		$bare = 1 === preg_match( '/^(?:\[([0-9a-fA-F:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/D', $text, $found )
			? ( '' !== $found[1] ? $found[1] : $found[2] )
			: $text;
		return false === filter_var( $bare, FILTER_VALIDATE_IP ) ? null : $bare;
	}
}
