import requests

requests.get("https://shop.example.org")
