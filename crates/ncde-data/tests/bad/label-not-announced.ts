@problemName p
@dimensions 1
@data
1,2:a
